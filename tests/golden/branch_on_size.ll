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
  %task1 = phi i64 [ %2, %work ], [ %90, %block.end ]
  %11 = icmp slt i64 %task1, %3
  br i1 %11, label %task, label %task.end

task:                                             ; preds = %task.head
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %86, %tail.end ]
  %12 = phi float [ 0.000000e+00, %task ], [ %79, %tail.end ]
  %13 = phi float [ 0.000000e+00, %task ], [ %85, %tail.end ]
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
  %vector3 = phi i64 [ %block2, %block ], [ %44, %vector ]
  %20 = phi <8 x float> [ zeroinitializer, %block ], [ %24, %vector ]
  %21 = phi <8 x float> [ zeroinitializer, %block ], [ %25, %vector ]
  %22 = phi <8 x float> [ zeroinitializer, %block ], [ %26, %vector ]
  %23 = phi <8 x float> [ zeroinitializer, %block ], [ %27, %vector ]
  %24 = phi <8 x float> [ zeroinitializer, %block ], [ %40, %vector ]
  %25 = phi <8 x float> [ zeroinitializer, %block ], [ %41, %vector ]
  %26 = phi <8 x float> [ zeroinitializer, %block ], [ %42, %vector ]
  %27 = phi <8 x float> [ zeroinitializer, %block ], [ %43, %vector ]
  %28 = icmp slt i64 %vector3, %19
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = getelementptr float, ptr %8, i64 %vector3
  %30 = load <8 x float>, ptr %29, align 4
  %31 = getelementptr float, ptr %8, i64 %vector3
  %32 = getelementptr float, ptr %31, i64 8
  %33 = load <8 x float>, ptr %32, align 4
  %34 = getelementptr float, ptr %8, i64 %vector3
  %35 = getelementptr float, ptr %34, i64 16
  %36 = load <8 x float>, ptr %35, align 4
  %37 = getelementptr float, ptr %8, i64 %vector3
  %38 = getelementptr float, ptr %37, i64 24
  %39 = load <8 x float>, ptr %38, align 4
  %40 = fadd <8 x float> %30, %20
  %41 = fadd <8 x float> %33, %21
  %42 = fadd <8 x float> %36, %22
  %43 = fadd <8 x float> %39, %23
  %44 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %19, %vector.end ], [ %62, %tail ]
  %45 = phi <8 x float> [ %20, %vector.end ], [ %46, %tail ]
  %46 = phi <8 x float> [ %21, %vector.end ], [ %47, %tail ]
  %47 = phi <8 x float> [ %22, %vector.end ], [ %48, %tail ]
  %48 = phi <8 x float> [ %23, %vector.end ], [ %49, %tail ]
  %49 = phi <8 x float> [ %24, %vector.end ], [ %50, %tail ]
  %50 = phi <8 x float> [ %25, %vector.end ], [ %51, %tail ]
  %51 = phi <8 x float> [ %26, %vector.end ], [ %52, %tail ]
  %52 = phi <8 x float> [ %27, %vector.end ], [ %61, %tail ]
  %53 = icmp slt i64 %tail4, %16
  br i1 %53, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %54 = sub i64 %16, %tail4
  %55 = call i64 @llvm.umin.i64(i64 %54, i64 8)
  %56 = trunc i64 %55 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %56, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %57 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %58 = getelementptr float, ptr %8, i64 %tail4
  %59 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %58, i32 4, <8 x i1> %57, <8 x float> zeroinitializer)
  %60 = fadd <8 x float> %59, %45
  %61 = select <8 x i1> %57, <8 x float> %60, <8 x float> %45
  %62 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %63 = fadd <8 x float> %45, %49
  %64 = fadd <8 x float> %46, %50
  %65 = fadd <8 x float> %47, %51
  %66 = fadd <8 x float> %48, %52
  %67 = fadd <8 x float> %63, %65
  %68 = fadd <8 x float> %64, %66
  %69 = fadd <8 x float> %67, %68
  %70 = shufflevector <8 x float> %69, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %71 = shufflevector <8 x float> %69, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %72 = fadd <4 x float> %71, %70
  %73 = shufflevector <4 x float> %72, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %74 = shufflevector <4 x float> %72, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %75 = fadd <2 x float> %74, %73
  %76 = extractelement <2 x float> %75, i64 1
  %77 = extractelement <2 x float> %75, i64 0
  %78 = fadd float %77, %76
  %79 = fadd float %12, %78
  %80 = fsub float %79, %12
  %81 = fsub float %78, %80
  %82 = fsub float %79, %80
  %83 = fsub float %12, %82
  %84 = fadd float %83, %81
  %85 = fadd float %13, %84
  %86 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %87 = fadd float %12, %13
  %88 = fcmp uno float %13, %13
  %89 = select i1 %88, float %12, float %87
  store float %89, ptr %10, align 4
  %90 = add i64 %task1, 1
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
