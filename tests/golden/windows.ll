; places in a storage that are named

; == mul_as_strided_scatter
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   access a0 b0 + p1 [1]
;   %0 f32 = load a0
;   %1 f32 = const 2 #4000000000000000
;   %2 f32 = op Mul %0 %1
;   %3 f32 = store a0 %2
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
  %9 = getelementptr i64, ptr %1, i64 1
  %10 = load i64, ptr %9, align 8
  %11 = getelementptr float, ptr %8, i64 %10
  %12 = add i64 %6, 4095
  %13 = lshr i64 %12, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %67, %tail.end ]
  %14 = phi i64 [ %2, %work ], [ %66, %tail.end ]
  %15 = icmp slt i64 %task1, %3
  br i1 %15, label %task, label %task.end

task:                                             ; preds = %task.head
  %16 = mul i64 %14, 4096
  %17 = add i64 %16, 4096
  %18 = call i64 @llvm.smin.i64(i64 %17, i64 %6)
  %19 = sub i64 %18, %16
  %20 = and i64 %19, -32
  %21 = add i64 %16, %20
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %16, %task ], [ %53, %vector ]
  %22 = icmp slt i64 %vector2, %21
  br i1 %22, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %23 = mul i64 %vector2, 1
  %24 = getelementptr float, ptr %11, i64 %23
  %25 = load <8 x float>, ptr %24, align 4
  %26 = mul i64 %vector2, 1
  %27 = getelementptr float, ptr %11, i64 %26
  %28 = getelementptr float, ptr %27, i64 8
  %29 = load <8 x float>, ptr %28, align 4
  %30 = mul i64 %vector2, 1
  %31 = getelementptr float, ptr %11, i64 %30
  %32 = getelementptr float, ptr %31, i64 16
  %33 = load <8 x float>, ptr %32, align 4
  %34 = mul i64 %vector2, 1
  %35 = getelementptr float, ptr %11, i64 %34
  %36 = getelementptr float, ptr %35, i64 24
  %37 = load <8 x float>, ptr %36, align 4
  %38 = fmul <8 x float> %25, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %39 = fmul <8 x float> %29, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %40 = fmul <8 x float> %33, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %41 = fmul <8 x float> %37, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %42 = mul i64 %vector2, 1
  %43 = getelementptr float, ptr %11, i64 %42
  store <8 x float> %38, ptr %43, align 4
  %44 = mul i64 %vector2, 1
  %45 = getelementptr float, ptr %11, i64 %44
  %46 = getelementptr float, ptr %45, i64 8
  store <8 x float> %39, ptr %46, align 4
  %47 = mul i64 %vector2, 1
  %48 = getelementptr float, ptr %11, i64 %47
  %49 = getelementptr float, ptr %48, i64 16
  store <8 x float> %40, ptr %49, align 4
  %50 = mul i64 %vector2, 1
  %51 = getelementptr float, ptr %11, i64 %50
  %52 = getelementptr float, ptr %51, i64 24
  store <8 x float> %41, ptr %52, align 4
  %53 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %21, %vector.end ], [ %65, %tail ]
  %54 = icmp slt i64 %tail3, %18
  br i1 %54, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %55 = sub i64 %18, %tail3
  %56 = call i64 @llvm.umin.i64(i64 %55, i64 8)
  %57 = trunc i64 %56 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %57, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %58 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %59 = mul i64 %tail3, 1
  %60 = getelementptr float, ptr %11, i64 %59
  %61 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %60, i32 4, <8 x i1> %58, <8 x float> zeroinitializer)
  %62 = fmul <8 x float> %61, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %63 = mul i64 %tail3, 1
  %64 = getelementptr float, ptr %11, i64 %63
  call void @llvm.masked.store.v8f32.p0(<8 x float> %62, ptr %64, i32 4, <8 x i1> %58)
  %65 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %66 = add i64 %14, 1
  %67 = add i64 %task1, 1
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

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

; == sum
; loop [p0, p1] kept 1 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [1, 0]
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
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %block.end, %work
  %task1 = phi i64 [ %2, %work ], [ %105, %block.end ]
  %15 = phi i64 [ %2, %work ], [ %104, %block.end ]
  %16 = icmp slt i64 %task1, %3
  br i1 %16, label %task, label %task.end

task:                                             ; preds = %task.head
  %17 = mul i64 %15, %14
  %18 = getelementptr float, ptr %10, i64 %17
  %19 = mul i64 %15, 1
  %20 = getelementptr float, ptr %12, i64 %19
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %100, %tail.end ]
  %21 = phi float [ 0.000000e+00, %task ], [ %93, %tail.end ]
  %22 = phi float [ 0.000000e+00, %task ], [ %99, %tail.end ]
  %23 = icmp slt i64 %block2, %8
  br i1 %23, label %block, label %block.end

block:                                            ; preds = %block.head
  %24 = add i64 %block2, 8192
  %25 = call i64 @llvm.smin.i64(i64 %24, i64 %8)
  %26 = sub i64 %25, %block2
  %27 = and i64 %26, -32
  %28 = add i64 %block2, %27
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %57, %vector ]
  %29 = phi <8 x float> [ zeroinitializer, %block ], [ %33, %vector ]
  %30 = phi <8 x float> [ zeroinitializer, %block ], [ %34, %vector ]
  %31 = phi <8 x float> [ zeroinitializer, %block ], [ %35, %vector ]
  %32 = phi <8 x float> [ zeroinitializer, %block ], [ %36, %vector ]
  %33 = phi <8 x float> [ zeroinitializer, %block ], [ %53, %vector ]
  %34 = phi <8 x float> [ zeroinitializer, %block ], [ %54, %vector ]
  %35 = phi <8 x float> [ zeroinitializer, %block ], [ %55, %vector ]
  %36 = phi <8 x float> [ zeroinitializer, %block ], [ %56, %vector ]
  %37 = icmp slt i64 %vector3, %28
  br i1 %37, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %38 = mul i64 %vector3, 1
  %39 = getelementptr float, ptr %18, i64 %38
  %40 = load <8 x float>, ptr %39, align 4
  %41 = mul i64 %vector3, 1
  %42 = getelementptr float, ptr %18, i64 %41
  %43 = getelementptr float, ptr %42, i64 8
  %44 = load <8 x float>, ptr %43, align 4
  %45 = mul i64 %vector3, 1
  %46 = getelementptr float, ptr %18, i64 %45
  %47 = getelementptr float, ptr %46, i64 16
  %48 = load <8 x float>, ptr %47, align 4
  %49 = mul i64 %vector3, 1
  %50 = getelementptr float, ptr %18, i64 %49
  %51 = getelementptr float, ptr %50, i64 24
  %52 = load <8 x float>, ptr %51, align 4
  %53 = fadd <8 x float> %40, %29
  %54 = fadd <8 x float> %44, %30
  %55 = fadd <8 x float> %48, %31
  %56 = fadd <8 x float> %52, %32
  %57 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %28, %vector.end ], [ %76, %tail ]
  %58 = phi <8 x float> [ %29, %vector.end ], [ %59, %tail ]
  %59 = phi <8 x float> [ %30, %vector.end ], [ %60, %tail ]
  %60 = phi <8 x float> [ %31, %vector.end ], [ %61, %tail ]
  %61 = phi <8 x float> [ %32, %vector.end ], [ %62, %tail ]
  %62 = phi <8 x float> [ %33, %vector.end ], [ %63, %tail ]
  %63 = phi <8 x float> [ %34, %vector.end ], [ %64, %tail ]
  %64 = phi <8 x float> [ %35, %vector.end ], [ %65, %tail ]
  %65 = phi <8 x float> [ %36, %vector.end ], [ %75, %tail ]
  %66 = icmp slt i64 %tail4, %25
  br i1 %66, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %67 = sub i64 %25, %tail4
  %68 = call i64 @llvm.umin.i64(i64 %67, i64 8)
  %69 = trunc i64 %68 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %69, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %70 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %71 = mul i64 %tail4, 1
  %72 = getelementptr float, ptr %18, i64 %71
  %73 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %72, i32 4, <8 x i1> %70, <8 x float> zeroinitializer)
  %74 = fadd <8 x float> %73, %58
  %75 = select <8 x i1> %70, <8 x float> %74, <8 x float> %58
  %76 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %77 = fadd <8 x float> %58, %62
  %78 = fadd <8 x float> %59, %63
  %79 = fadd <8 x float> %60, %64
  %80 = fadd <8 x float> %61, %65
  %81 = fadd <8 x float> %77, %79
  %82 = fadd <8 x float> %78, %80
  %83 = fadd <8 x float> %81, %82
  %84 = shufflevector <8 x float> %83, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %85 = shufflevector <8 x float> %83, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %86 = fadd <4 x float> %85, %84
  %87 = shufflevector <4 x float> %86, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %88 = shufflevector <4 x float> %86, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %89 = fadd <2 x float> %88, %87
  %90 = extractelement <2 x float> %89, i64 1
  %91 = extractelement <2 x float> %89, i64 0
  %92 = fadd float %91, %90
  %93 = fadd float %21, %92
  %94 = fsub float %93, %21
  %95 = fsub float %92, %94
  %96 = fsub float %93, %94
  %97 = fsub float %21, %96
  %98 = fadd float %97, %95
  %99 = fadd float %22, %98
  %100 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %101 = fadd float %21, %22
  %102 = fcmp uno float %22, %22
  %103 = select i1 %102, float %21, float %101
  store float %103, ptr %20, align 4
  %104 = add i64 %15, 1
  %105 = add i64 %task1, 1
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
