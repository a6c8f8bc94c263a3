; a branch is a guard

; == sum
; loop [p0] kept 0 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [0]
;   %0 f32 = load a0
;   %1 f32 = reduce sum %0
;   %2 f32 = store a1 %1
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %block.end, %work
  %task1 = phi i64 [ %2, %work ], [ %95, %block.end ]
  %11 = icmp slt i64 %task1, %3
  br i1 %11, label %task, label %task.end

task:                                             ; preds = %task.head
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %91, %tail.end ]
  %12 = phi float [ 0.000000e+00, %task ], [ %84, %tail.end ]
  %13 = phi float [ 0.000000e+00, %task ], [ %90, %tail.end ]
  %14 = icmp slt i64 %block2, %6
  br i1 %14, label %block, label %block.end

block:                                            ; preds = %block.head
  %15 = add i64 %block2, 8192
  %16 = call i64 @llvm.smin.i64(i64 %15, i64 %6)
  %17 = sub i64 %16, %block2
  %18 = and i64 %17, -32
  %19 = add i64 %block2, %18
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %48, %vector ]
  %20 = phi <8 x float> [ zeroinitializer, %block ], [ %24, %vector ]
  %21 = phi <8 x float> [ zeroinitializer, %block ], [ %25, %vector ]
  %22 = phi <8 x float> [ zeroinitializer, %block ], [ %26, %vector ]
  %23 = phi <8 x float> [ zeroinitializer, %block ], [ %27, %vector ]
  %24 = phi <8 x float> [ zeroinitializer, %block ], [ %44, %vector ]
  %25 = phi <8 x float> [ zeroinitializer, %block ], [ %45, %vector ]
  %26 = phi <8 x float> [ zeroinitializer, %block ], [ %46, %vector ]
  %27 = phi <8 x float> [ zeroinitializer, %block ], [ %47, %vector ]
  %28 = icmp slt i64 %vector3, %19
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = mul i64 %vector3, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = load <8 x float>, ptr %30, align 4
  %32 = mul i64 %vector3, 1
  %33 = getelementptr float, ptr %8, i64 %32
  %34 = getelementptr float, ptr %33, i64 8
  %35 = load <8 x float>, ptr %34, align 4
  %36 = mul i64 %vector3, 1
  %37 = getelementptr float, ptr %8, i64 %36
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector3, 1
  %41 = getelementptr float, ptr %8, i64 %40
  %42 = getelementptr float, ptr %41, i64 24
  %43 = load <8 x float>, ptr %42, align 4
  %44 = fadd <8 x float> %31, %20
  %45 = fadd <8 x float> %35, %21
  %46 = fadd <8 x float> %39, %22
  %47 = fadd <8 x float> %43, %23
  %48 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %19, %vector.end ], [ %67, %tail ]
  %49 = phi <8 x float> [ %20, %vector.end ], [ %50, %tail ]
  %50 = phi <8 x float> [ %21, %vector.end ], [ %51, %tail ]
  %51 = phi <8 x float> [ %22, %vector.end ], [ %52, %tail ]
  %52 = phi <8 x float> [ %23, %vector.end ], [ %53, %tail ]
  %53 = phi <8 x float> [ %24, %vector.end ], [ %54, %tail ]
  %54 = phi <8 x float> [ %25, %vector.end ], [ %55, %tail ]
  %55 = phi <8 x float> [ %26, %vector.end ], [ %56, %tail ]
  %56 = phi <8 x float> [ %27, %vector.end ], [ %66, %tail ]
  %57 = icmp slt i64 %tail4, %16
  br i1 %57, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %58 = sub i64 %16, %tail4
  %59 = call i64 @llvm.umin.i64(i64 %58, i64 8)
  %60 = trunc i64 %59 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %60, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %61 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %62 = mul i64 %tail4, 1
  %63 = getelementptr float, ptr %8, i64 %62
  %64 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %63, i32 4, <8 x i1> %61, <8 x float> zeroinitializer)
  %65 = fadd <8 x float> %64, %49
  %66 = select <8 x i1> %61, <8 x float> %65, <8 x float> %49
  %67 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %68 = fadd <8 x float> %49, %53
  %69 = fadd <8 x float> %50, %54
  %70 = fadd <8 x float> %51, %55
  %71 = fadd <8 x float> %52, %56
  %72 = fadd <8 x float> %68, %70
  %73 = fadd <8 x float> %69, %71
  %74 = fadd <8 x float> %72, %73
  %75 = shufflevector <8 x float> %74, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %76 = shufflevector <8 x float> %74, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %77 = fadd <4 x float> %76, %75
  %78 = shufflevector <4 x float> %77, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %79 = shufflevector <4 x float> %77, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %80 = fadd <2 x float> %79, %78
  %81 = extractelement <2 x float> %80, i64 1
  %82 = extractelement <2 x float> %80, i64 0
  %83 = fadd float %82, %81
  %84 = fadd float %12, %83
  %85 = fsub float %84, %12
  %86 = fsub float %83, %85
  %87 = fsub float %84, %85
  %88 = fsub float %12, %87
  %89 = fadd float %88, %86
  %90 = fadd float %13, %89
  %91 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %92 = fadd float %12, %13
  %93 = fcmp uno float %13, %13
  %94 = select i1 %93, float %12, float %92
  store float %94, ptr %10, align 4
  %95 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
